"""Published and measured values for the same GPU and link, and usual causes of a shortfall."""
