"""Views for a terminal. They draw what an analysis holds; text from logs is data, never markup."""
