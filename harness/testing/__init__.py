"""harness.testing"""
