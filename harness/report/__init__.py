"""What is shown of records: tables, formats, figures, progress. Public: plugins that show runs import from these modules."""
