"""What every room of the host uses: array types, errors and their texts, files, parameters, the machine."""
