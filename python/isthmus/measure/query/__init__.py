"""Questions about many runs, in SQL, answered by DuckDB."""
