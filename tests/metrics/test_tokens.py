"""How each tokenizer splits: against rouge-score, nltk, sacrebleu and by hand."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer
from rouge_score.tokenizers import DefaultTokenizer
from sacrebleu.tokenizers.tokenizer_ja_mecab import TokenizerJaMecab
from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

from accgate.metrics import rouge, tokens
from accgate.metrics.tokens import tokenizer
from tests.metrics.readings import READINGS
from tests.metrics.texts import AWKWARD, TEXTS, metric
from tests.support.cases import each

CHINESE = st.text("我们在北京大学学习语言模型的评测方法很好吗", min_size=1, max_size=30)
LATIN = st.text("abcXYZ", min_size=1, max_size=6)
NAMES: tuple[tokens.Tokenizer, ...] = ("rouge", "squad", "words", "characters", "zh", "ja")
JAPANESE = ["言語モデルの精度が下がったかどうかを検定する", "すもももももももものうち", "私はGPUを3台持っている"]


@given(TEXTS)
def test_rouge_tokens_are_rouge_scores(text: str) -> None:
    assert tokenizer("rouge")(text) == DefaultTokenizer().tokenize(text)
    assert tokenizer("rouge", stem=True)(text) == DefaultTokenizer(use_stemmer=True).tokenize(text)


def test_tokens_of_three_characters_and_less_are_not_stemmed() -> None:
    assert tokenizer("rouge", stem=True)("Dying dogs ran; gas was used") == ["die", "dog", "ran", "gas", "was", "use"]
    assert PorterStemmer().stem("was") == "wa"


@each(("name", "text", "expected"), READINGS["tokens"])
def test_each_tokenizer_by_hand(name: tokens.Tokenizer, text: str, expected: list[str]) -> None:
    assert tokenizer(name)(text) == expected


@given(st.lists(CHINESE | LATIN, max_size=8))
def test_chinese_tokens_are_those_of_sacrebleu_but_for_case(parts: list[str]) -> None:
    text = " ".join(parts)
    assert tokenizer("zh")(text) == TokenizerZh()(text).lower().split()


@each("text", JAPANESE)
def test_japanese_tokens_are_those_of_sacrebleu(text: str) -> None:
    assert tokenizer("ja")(text) == TokenizerJaMecab()(text.lower()).split()
    assert len(tokenizer("ja")(text)) > 4


@pytest.mark.parametrize(
    ("language", "answer", "near", "far"),
    [
        ("zh", "北京是中国的首都", "中国的首都是北京", "上海有很多高楼"),
        *((name, "今日は東京に行きます", "明日は東京に行きます", "機械が故障した") for name in ("ja", "characters")),
    ],
)
def test_rouge_of_chinese_and_japanese_tells_near_from_far(language: str, answer: str, near: str, far: str) -> None:
    for name in ("rouge_1", "rouge_2", "rouge_l", "rouge_w", "rouge_s"):
        score = metric(rouge, name, tokenizer=language)
        assert score(answer, answer) == 100
        assert 20 < score(answer, near) < 100 or (name == "rouge_1" and score(answer, near) == 100)
        assert score(answer, far) < 20
        assert metric(rouge, name)(answer, near) == 0  # rouge-score's tokenizer knows Latin letters alone


@given(text=TEXTS)
@example(text="".join(side for pair in AWKWARD for side in pair))
def test_tokens_have_no_space_and_are_the_same_whatever_the_case_and_the_space_around(text: str) -> None:
    for name in NAMES:
        split = tokenizer(name)
        assert split(f"  {text}\n") == split(text), name
        assert split("Ab ÇÉ 東京 x".upper()) == split("Ab ÇÉ 東京 x"), name
        assert all(token and not any(map(str.isspace, token)) for token in split(text)), name
