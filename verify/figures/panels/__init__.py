"""The panels, one module for a figure or a few of them; each exports its PANELS."""
