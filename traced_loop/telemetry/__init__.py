"""How a span is opened, cleaned and handed on. Everything that leaves the loop passes here."""
