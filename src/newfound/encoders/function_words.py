"""Frequent function words of languages in Latin letters, in lower case: few texts of a language have none of them.

Words of one letter are left out, since codes are full of them, and so are words that mean something else in English
("men", "care"). A word may belong to several languages.
"""

from __future__ import annotations

FUNCTION_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "Danish": """af alle at blev da de dem den der det dig din du efter eller en er et for fra få han har hun
            hvad hvem hvis hvor hvordan hvorfor ikke ind jeg kan kun med meget mig min mine mit når og også
            om op os over på sig skal som så til ud var vi vil være""",
        "Dutch": """aan al als ben bent bij dan dat de deze die dit door een en er geen graag haar heb hebben heeft
            het hier hij hoe hoeveel ik is je jij kan kunnen kunt maar me met mij mijn moet naar niet nog nu
            of om onze ook op over te tot uit uw van voor waar waarom wanneer wat welke wie wil worden wordt
            zal ze zijn zou""",
        "English": """about after again all also am an and any are as at be because been before being but by can
            cant could did didnt do does doesnt doing dont every for from get give got had has have havent
            he help her here him his how if im in into is isnt it its ive just let like make many me more
            much my need next no not now of off on only or other our out over please she should show so some
            still than that thats the their them then there these they this those to too up us use want was
            we were what whats when where which while who why will with without wont would you your""",
        "Finnish": """ei eivät en että hän ja jo joka jos kanssa ke kiitos kuin kuinka kun luo me miksi mikä milloin
            minkä minulle minun minä missä miten mitä mutta myös ne niin nyt ole olen oli olla on ovat se
            sen siitä sitä tai te tämä tämän tätä vain voi voiko voin voinko voitte""",
        "French": """alors au aux avec avez bien ce ces cette chez combien comment dans de des donc du elle elles en
            est et faire il ils jai je la le les leur lui ma mais me mes moi mon même ne nos notre nous ou
            où par pas peut peux pour pourquoi puis quand que quel quelle qui sa sans se ses sont suis sur
            ta tes toi tous tout très tu un une veux vos votre vous être""",
        "German": """aber alle als am auf aus bei beim bin bis bitte das dass dein dem den der des dich die diese
            dieser dir doch du durch ein eine einem einen einer er es für gibt habe haben hat ich ihr im ist
            ja kann kannst kein keine können mein meine meinem meinen meiner mich mir mit muss möchte nach
            nicht noch nur ob oder ohne schon sein seit sich sie sind soll um und uns unser vom von vor wann
            warum was wegen wenn wer werden wie wieder wird wo wurde zu zum zur zwischen über""",
        "Hungarian": """aki amit az csak de egy el ez ha hogy hogyan hol igen kell ki kérem köszönöm le lehet meg
            mennyi mert mi mikor milyen mint mit miért nekem nem nincs olyan szeretnék számomra vagy van
            vannak volt és""",
        "Indonesian": """ada adalah agar akan aku anda apa apakah atau bagaimana berapa bisa dalam dan dari dengan
            di dia harus ingin ini itu jika juga kami kapan karena ke kepada kita lagi mana mau mengapa
            mereka oleh pada saat saja saya sebuah sedang sekarang semua seperti siapa sudah tentang tidak
            tolong untuk yang""",
        "Italian": """al alla alle allo anche che chi ci come con cosa cosè così dal dalla degli dei del della delle
            di dove ed fa gli ha ho il in io la le lo loro ma mi mia mie miei mio nel nella nelle non per
            perché più posso puoi qual quale quali quando quanto quella quello questa questo sarà se senza
            si sono sto su sul sulla tra tutte tutti tutto un una uno voglio vorrei""",
        "Norwegian": """alle at av da de deg dem den der det din du eller en er et etter for fra få han har hun hva
            hvem hvis hvor hvordan hvorfor ikke jeg kan kun med meg mer min mine mitt når og også om opp oss
            over på seg skal som så til ut var vi vil være""",
        "Polish": """ale bo być co czy dla dlaczego do gdzie go ile jak jaki jakie jest jestem kiedy kto która który
            ma mam mi mnie mogę moja moje mojego może mój na nie od po proszę przez przy się są tak te tego
            tej ten to tu tylko we za ze że żeby""",
        "Portuguese": """ao aos até bem com como da das depois do dos ela ele em entre era essa esse esta este estou
            está eu foi há isso já lhe mais mas me meu meus minha minhas muito na nas no nos não nós onde os
            ou para pela pelo pode por porque posso preciso qual quando quanto que quem quero se sem ser seu
            sua são também te tem tenho um uma você vocês""",
        "Romanian": """această acest am ar are avea aș ca ce cine cu cum când cât de din după ea ei el este eu fi
            fost la le mai mea mele meu mi mă ne nu pe pentru prin sa sau se sunt să te un unde unei unui
            vreau îmi în într și""",
        "Spanish": """al algo aquí como con cuando cuál cuándo cuánto cómo de del desde donde dónde el ella en entre
            es esta estas este esto estos estoy está están ha hace hasta hay he la las le lo los me mi mis
            muy más necesito no nos nuestro para pero por porque puede puedo que quien quiero qué se ser si
            sobre soy su sus también te tengo tiene todo todos tu un una usted ya yo""",
        "Swahili": """bila cha gani hadi hiyo hizo huu huyo ile je katika kila kuwa kwa kwamba la lakini mimi na
            naomba nataka ni nini pia sana tafadhali vipi wa wakati wangu wapi wewe ya yake yako yangu za""",
        "Swedish": """alla att av de dem den det dig din du efter eller en ett från får för ha han har hon hur här
            inte jag kan med mig min mina mitt mycket när och också om oss på sig ska som så till upp ut vad
            var varför vem vi vid vill är över""",
        "Tagalog": """ako ang ano at ay ba bakit dahil hindi ito ka kailan kailangan kami ko kung lang mga mo na
            naman nang ng ni paano para po sa saan si siya""",
        "Turkish": """ama bana ben beni benim bir biz bu bunu bunun da daha de değil diye en gibi göre hangi ile ise
            için içinde kadar kaç ki kim lütfen mi misin mu musun mü mı nasıl ne neden nedir nerede olacak
            olan olarak olsun sen sonra tüm var ve veya ya yok çok şu""",
        "Vietnamese": """anh bao bạn cho chúng các cái còn có cần của em giúp gì hay hãy khi không là làm lại muốn
            mình một nhiêu nhưng những nào này rất sao sẽ thì thế tôi từ và vào vì với xin đang đã đó được
            đến để""",
    }.items()
}
