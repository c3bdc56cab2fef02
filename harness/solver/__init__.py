"""What a solver is: its protocol, the paths of problems that it may follow, and learners that see one point at a time."""
