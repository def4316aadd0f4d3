# ruff: noqa: RUF001 letters and words of other scripts
"""Words around the label of an option in a reply, in 25 languages, as alternatives of regular expressions."""

import unicodedata


def _words(spaced: str, others: str) -> str:
    """Join the words of scripts that put spaces between words, which match whole, and those of others.

    All are in the form of characters that a reply is brought to.
    """
    return unicodedata.normalize("NFKC", rf"(?:(?<![^\W_])(?:{spaced})(?![^\W_])|{others})")


ANSWER = _words(
    r"answers?|ans|solution|lösung|soluzione|solución|solução|antwort\w*|antwoord\w*|respuesta|resposta|gabarito|risposta|réponse|odpowied\w+|odpověď"
    r"|svar\w*|cevab\w*|cevap\w*|yanıt\w*|jawaban\w*|jibu|đáp án|trả lời|răspuns\w*|válasz\w*|vastaus|ответ\w*"
    r"|відповідь|απάντηση",
    r"답변|정답|답|答案|答え|答复|回答|解答|正解|正答|答|उत्तर|जवाब|উত্তর|คำตอบ|సమాధానం|జవాబు|பதில்|الإجابة|الاجابة"
    r"|إجابة|الجواب|جواب|پاسخ|תשובה",
)
RIGHT = _words(
    r"correct\w*|right|true|best|valid|most (?:likely|accurate|appropriate)|richtig\w*|korrekt\w*|zutreffend\w*"
    r"|juiste?|goede?|verdader[ao]|cert[ao]|corret[ao]|corrett[ao]|giust[ao]|esatt[ao]|bonne|juste|exacte?|vraie?"
    r"|poprawn\w+|prawidłow\w+|správn\w+|верн\w+|правильн\w+|doğru\w*|benar|tepat|sahihi|đúng|σωστ\w+",
    r"正确|正確|对(?!于)|對(?!於)|正し(?!く)い?|適切|正解|正答|맞(?!지)\w*|옳(?!지)\w*|올바\w+|정답|सही|সঠিক|ถูก\S*"
    r"|సరైన\S*|صحيح\w*|الصحيح\w*|صواب|נכונה",
)
LINK = _words(
    r"is|was|are|would be|should be|must be|has to be|will be|be|ist|lautet|wäre|es|está|sería|est|serait|é|seria|è"
    r"|sarebbe|jest|este|är|adalah|ialah|là|ni|ndiyo|ndio|είναι|является|это",
    r"是|为|為|应为|应该是|应选|选择|选|選|は|が|이|가|은|는|हैं?|है|হলো?|হবে|คือ|เป็น|هي|هو|هى",
)
OPTION = _words(
    r"options?|choices?|letter|alternative|statement|opción|opciones|opção|alternativa|opzione|lettera|letra|lettre"
    r"|buchstabe|variante?|optie|opcja|pilihan|opsi|huruf|chaguo|herufi|phương án|câu|lựa chọn|seçenek|seçeneği|şıkkı"
    r"|şık|şıkkıdır|вариант\w*|буква|пункт",
    r"选项|選項|選択肢|项|項|번|보기|선택지|विकल्प|বিকল্প|ข้อ|ตัวเลือก|ఎంపిక|الخيار|خيار|الحرف|حرف|گزینه",
)
CHOOSE = _words(
    r"choose|chose|select(?:ed)?|pick(?:ed)?|go(?:ing)? with|opt for|settle on|conclude|leav(?:es"
    r"|ing)(?: us)?(?: with)?(?: only)?|it remains|c['’]est|es ist|say|i(?:['’]d| would)? answer(?:ed)?|(?:it"
    r"|this|that)(?:['’]s| is| must be| has to be"
    r"| would be)|w[äa]hle|nehme|elijo|escojo|selecciono|marco|escolho|choisis|scelgo|wybieram|kies|выбираю|memilih"
    r"|pilih|chọn|seçiyorum|nachagua|ninachagua",
    r"เลือก|ตอบ|选择?|選擇?|أختار|اختار",
)
SO = _words(
    r"so|thus|hence|therefore|consequently|finally|ultimately|overall|conclusion|summary|verdict|result|also|daher"
    r"|deshalb|somit|donc|ainsi|por (?:lo )?tanto|así que|portanto|logo|então|quindi|dunque|поэтому|значит|итак"
    r"|следовательно|jadi|maka|vậy|do đó|kwa hiyo|hivyo|dolayısıyla|więc|zatem|dus",
    r"所以|因此|故|综上|よって|したがって|따라서|그러므로|इसलिए|अतः|তাই|অতএব|ดังนั้น|కాబట్టి|لذلك|إذن|لذا",
)
NOT = _words(
    r"not|never|neither|nor|none of|cannot be|except(?: for)?|other than|unlike|(?:rul(?:e[sd]?|ing)|leav(?:e|es"
    r"|ing)) out|rather than|instead of|(?:eliminat|exclud|discard|reject)(?:e|es|ed|ing|s)?|anything but"
    r"|\w+n['’]t(?: be)?|nicht|kein\w*|no es|non è|não é|pas|bukan|не|nie|niet|si|sio|không(?: phải)?",
    r"ليس\w?|ไม่ใช่|ไม่|并非|並非|而非|不(?:会|會)?(?:是|选|選)|不",
)
WRONG = _words(
    r"not|no|wrong|false|incorrect\w*|inaccurate|eliminated|excluded|ruled out|implausible|nicht|falsch\w*"
    r"|unzutreffend|onjuist|fout|niet|pas|faux|fausse|inexacte?|falso|falsa|errad[ao]|errat[ao]|sbagliat[ao]"
    r"|scorrett[ao]|błędn\w+|niepoprawn\w+|nieprawidłow\w+|nie|неверн\w+|неправильн\w+|ошибочн\w+|не|yanlış\w*|salah"
    r"|bukan|tidak|si|sio|makosa|sai|không",
    r"✗|✘|❌|错|錯|误|誤り|誤|間違|不|違|틀\w+|오답|잘못|गलत|ভুল|ผิด|ไม่|తప్పు|خطأ|خاطئ\w*|غير|ليس\w*",
)
