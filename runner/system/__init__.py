"""What a machine gives: files that appear whole, folders built once, SQLite, threads, clocks and the terminal."""
