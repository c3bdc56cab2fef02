/* The page that was once here is the front page now: go there, to the same place in it, and leave no step to go back to. */

location.replace(`index.html${location.search}${location.hash}`);
