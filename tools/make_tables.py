"""Remake what is kept of the grammars and of the facts: `python tools/make_tables.py`.

After a change of `grammars/*.lark`, of `src/kvforensics/knowledge/*.toml` or of Lark's version; until then
runs take longer, since the texts themselves are compiled.
"""

from kvforensics.knowledge import data
from kvforensics.parsing import tables


def main() -> None:
    """Write every table."""
    made = {tables.path_of(name): table.text() for name, table in tables.all_made().items()}
    made |= {data.table_path(name): data.table(name).encode() for name in data.TOML}
    for path, content in made.items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        print(path)


if __name__ == "__main__":
    main()
