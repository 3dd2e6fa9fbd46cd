"""Systems that run somewhere and are asked as a user asks them."""
