"""How far a judge says what people say: rated answers are judged and the two are compared."""
