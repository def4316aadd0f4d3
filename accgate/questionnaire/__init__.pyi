from .answers import Question, from_files, from_run
from .key import key_json, read_key
from .page import draw_questionnaire, page_html
from .ratings import read_ratings
from .survey import survey_of
from .views import print_survey, survey_markdown
from .wording import read_wording

__all__ = [
    "Question",
    "draw_questionnaire",
    "from_files",
    "from_run",
    "key_json",
    "page_html",
    "print_survey",
    "read_key",
    "read_ratings",
    "read_wording",
    "survey_markdown",
    "survey_of",
]
