"""How a table is read: requirements on roles of columns, readings that meet them, offers."""
