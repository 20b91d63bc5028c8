"""Views: what a terminal shows. Payloads as aligned text that fits 80 columns, and progress on stderr."""
