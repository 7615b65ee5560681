"""What others measured on the same GPU and link, and what a shortfall usually means."""
