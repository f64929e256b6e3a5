"""damage.py STORE TABLE.COLUMN: changes the first value of a column behind the program's back."""
import sqlite3
import sys

table, column = sys.argv[2].split(".")
with sqlite3.connect(sys.argv[1]) as store:
    key, value = store.execute(f"SELECT {'key' if table == 'identity' else 'rowid'}, {column} FROM {table}").fetchone()
    if isinstance(value, bytes):
        middle = len(value) // 2
        damaged = value[:middle] + b"\xff" * 64 + value[middle + 64:]
    else:
        damaged = value + ("!" if isinstance(value, str) else 1)
    store.execute(f"UPDATE {table} SET {column} = ? WHERE {'key' if table == 'identity' else 'rowid'} = ?", (damaged, key))
store.close()
