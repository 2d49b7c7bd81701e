"""The wire records: one frozen dataclass per JSON object that hipscope prints, sends or keeps. Data only.

A writer builds them, `fields.to_json` prints them, `fields.read_record` reads them back, `json_schema` describes
them for others. No two records have the same name. Every key is required, a key that is not known is ignored.
"""
