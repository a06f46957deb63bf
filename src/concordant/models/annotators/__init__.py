"""Models of annotators: the class of each item and the reliability of each annotator, from answers in classes."""
