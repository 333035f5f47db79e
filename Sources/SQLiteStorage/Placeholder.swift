// SQLiteStorage
