"""From groups to published categories: of names, orders and trees."""
