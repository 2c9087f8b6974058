"""Reading: tables and the original formats in, validated `Ratings` and `Items` out."""
