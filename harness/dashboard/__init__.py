"""The dashboard: the history of every solver as a web site made by asv, with pages of our own, that works offline.

asv (airspeed velocity) is the optional dependency ``asv``; only modules of this package import it.
"""
