"""Remake the tables of the grammars: `python tools/make_tables.py`, after a change of `grammars/*.lark` or Lark."""

from kvforensics.parsing import tables


def main() -> None:
    """Write every table."""
    for name, table in tables.all_made().items():
        path = tables.path_of(name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(table.text())
        print(path)


if __name__ == "__main__":
    main()
