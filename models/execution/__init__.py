"""The execution model: replays answers on nodes that straggle, fail and talk."""
