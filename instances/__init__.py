"""Where problems come from: file formats, generators and bundled instance files."""
