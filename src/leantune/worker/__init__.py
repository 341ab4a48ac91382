"""Beside the training program: its view of its trial (`client`), and the warden that supervises it.

The warden's modules (`warden`, `supervision` and what that imports) use the standard library only.
"""
