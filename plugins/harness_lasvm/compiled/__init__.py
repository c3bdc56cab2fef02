"""What numba compiles; importing any of these modules imports it. Outside, the same state is read from Python."""
