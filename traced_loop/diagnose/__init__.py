"""Findings over one stored run, whoever wrote its trace."""
