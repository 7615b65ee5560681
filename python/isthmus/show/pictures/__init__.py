"""Pictures: panels of curves and points, as SVG, PNG, HTML and Vega-Lite."""
