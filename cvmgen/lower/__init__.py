"""Formula to loop nests: one pass, one file, one public function."""
