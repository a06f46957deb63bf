"""Models of annotators who assign items to classes (truth inference), one file each."""
