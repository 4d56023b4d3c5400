"""Records in nested boxes: far and near ones are found without reading most."""
