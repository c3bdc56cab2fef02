"""harness.run"""
