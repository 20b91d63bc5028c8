"""Payloads: the plain data that `--json` prints, that files save and that commands read back; the views show them."""
