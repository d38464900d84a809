"""Gymnasium's own exceptions."""


class Error(Exception):
    pass
