"""What a campaign of faults is made of: what is done, to whom, and who judges what came of it."""
