"""The page reports/map/README.md, made of map.csv; python reports/peers map measures both anew."""

from __future__ import annotations

from reports.kit.page import Page
from reports.peers import map_page

PAGE = Page(map_page.FOLDER, lambda: map_page.sections(*map_page.read(map_page.FOLDER)))
