"""The raw files of the real data sets: where they lie, what they must hash to, and the check.

The SHA-256 values are those of the files the catalogue's parsers were written and tested against. A file
that hashes to something else may parse, but to other points; so it is refused instead.
"""

from __future__ import annotations

import os
from pathlib import Path

from harness.errors import DataError

SHA256 = {
    "abalone/abalone.data": "de37cdcdcaaa50c309d514f248f7c2302a5f1f88c168905eba23fe2fbc78449f",
    "abalone/abalone.trn.bz2": "9d24998fecb496cca34cb56386f99d36edc2aa113f800b1f7c02316e05da80f1",
    "adult/a8a.gz": "842eabccac378da2d8fb26ae90cb740e24337dc39aff2dfbd86431fa81f3afd3",
    "adult/a9a.gz": "82d347cf414924a79e7972829fdeb99ff23346742c49a3bc76b89ff8736a485e",
    "adult/a9a.t.gz": "d52d0c91c3f108f1bf34e4af73003a01ce19c3fcf099f319f084ebb349b8d16c",
    "adult/adult.data.xz": "411f9e8020483198dc549b8608656fed3452d40ba17ed66e62af236f286159d3",
    "adult/adult.names": "c248284c0b5de30c9e1958d6cdd168a34a654758b620e68f46aefa83fc0a576a",
    "adult/adult.test.xz": "ccce7f0d189aa5654ff82e13acf104d2819d34690149526d48bded109e28c13e",
    "australian/australian": "25a5d45d53b5db7c402f1bf58aea5ed5f0387ad525ec7f0131585f1f63033b38",
    "covtype/covertype.rda": "4e01b0b07191cc300584ed7f662caa1b28e0c6ac96ee95b6fa93b503c00bd5d9",
    "covtype/covtype.libsvm.binary.xz": "9a467ad865f5875c23f8218da5cfca689031a1830563ca1302af1daf488a6402",
    "german.numer/german.numer.gz": "961cb75ceaa803478aac791aa921576183a8c1462de06a8a46b7fcbe72e0a8bc",
    "letter/letter-recognition.data.gz": "9e43e72ad1f22abed8e79fd18e221103872c91ecbb8179c0696d4ec8995ea416",
    "mnist/t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "mnist/t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    "mnist/train-images-idx3-ubyte.gz": "71524e2cd1ad2968737f7f2f2ff69cbfc32df8ccddff51593f7cb2d4e0eb5b64",
    "mnist/train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "musk2/musk2.mat": "49807d636458746877d7d3d1e662c8887c0348f41bbe51a4facea5dec4462997",
    "raetsch/banana.asc.tar.xz": "4f8ced5ac155949f2db086d0642f335f7c116e11549e0db392b788d8e2eba25c",
    "raetsch/banana.mat": "05c98ccd67268c5940cb69c047a8a60840bf8fa624af142dda0c1d659bad9e2f",
    "raetsch/breast-cancer.asc.tar.xz": "346653fbe64bf0547a4196b59d6ad9f479b4260c798024b772e9bc2f04bcb953",
    "raetsch/breast_cancer.mat": "a877c59fdbfe0547f93444332ab665b63027d87be35c6a0c2ae58999407ba599",
    "raetsch/flare_solar.mat": "3aff418ff82953890854803613eb9e04fd3730114bff8e1a8e98ff59e7bc430c",
    "raetsch/german.asc.tar.xz": "3bc5d4047b33e7d40e6cff0c9c4f62a5297285c894310d2feb5808b97118d9cf",
    "raetsch/german.mat": "fbf291548057785f1129ff9197281725a19b971c667c07eb936d35d303208d9b",
    "raetsch/image.asc.tar.xz": "58f08f40ad202ebdfb9c4e73822e6be752d5735befa030d4be985edae1231513",
    "raetsch/image.mat": "ef11ddca2fb6992a494f1546dd29a446654264a564d1bba24b6140f374f56225",
    "raetsch/splice.mat": "3ab9843787885143d61b6141c42d40e4b94b662637c2b6e14522bdb5dce2f8d1",
    "raetsch/thyroid.mat": "25717045132047fc9b6ad0c2d1f9344cdcd0bf990bc496a8de1827ff430b2e8b",
    "raetsch/titanic.asc.tar.xz": "5e1ea883fd40a079989f1623f394cf1d1ea0358c31c8730d7b68eae227d33265",
    "raetsch/titanic.mat": "95dcb931392de0bd9e20c1659392771ef9df905f9b9c46d367276a1e398eeb22",
    "raetsch/twonorm.mat": "4ad7de2918058533181ee5ac86dafab8f29002f684afe3058ec70f81ece7e2aa",
    "raetsch/waveform.asc.tar.xz": "55d3ea1a8ce69533eafe3c1148585b927d204d4c6f5a2776dfb26204fcf6984d",
    "raetsch/waveform.mat": "f783135eb00109cb241f65481be36c011cc1fc13df6180d512d2a2a3488e9db3",
    "reuters/reuters.trn.bz2": "e77a3368662c02caebe0d9cbcc97d856019bcfb33a8e9b7c48e0b51ee4cdfb60",
    "reuters/reuters.tst.bz2": "3d699b9644a38160bf3228059d18fbfc07474057d8e82d512576a2b82d72e211",
    "reuters/reuters21578-README.txt": "eb669045dd883c56cb5a96da1848c3380bc6371894c5663709a46776e3262a96",
    "reuters/reuters21578-sgm.tar.xz": "c3d5535cc040f7107de168fc9ab8185e6ea2f68418a135fbb2b37fc24217ff1a",
    "satimage/sat.trn.gz": "5995528635034a4ee9dad16c729dc2618b4d70e5b70cc98fe87540df4799fbd7",
    "satimage/sat.tst.gz": "7e852a999a6c3959b76a81c046b8d529fb5199cafb78018dbcbeac72b4645322",
    "spambase/spam.data.gz": "ceac0e8e9b2ad8af96a5fb440e33069205b5fae4b94512c58f54592f9ffe8e95",
    "spambase/spam.info.txt": "462e4ffba1241a5962d528364708d188dc75931d56a25a8e9b6c8bb25e094cfd",
    "spambase/spam.traintest": "ba6718589db52bc72324e3edb5dc458c547675088aa114a81afa84d972d35ba5",
    "svmguide1/svmguide1.gz": "cbfa82f399a9193d4614e133e09a13f1cf12d642fa83fb826091d45455490ed0",
    "svmguide1/svmguide1.t.gz": "c3b19f5af649c172b12589927803d717ed8a218a16c23b273dc96d129dc9276c",
    "usps/zip.info.txt": "927ca750c4117b61a71def180d5e4f00f1323a4b2c9cd990f576aa8def3505f1",
    "usps/zip.test.gz": "8dacc3c6e136af6c3488de9e5113a7daf140c8c2f1f0b61c54ee02f03f1a962f",
    "usps/zip.train.gz": "66ebf231ab51f2cf6ac1a892d0f98ccffee1079d7a5db638c1f11f366046ca16",
    "wdbc/wdbc.data.txt": "d7ed8ea99ff5405ac8d3584777675494bdde8fea299d22dcf934ea86dddad837",
}


def raw_root() -> Path:
    """Return the folder of the raw files: ``HARNESS_DATA``, else ``raw`` in the user's cache of ``svm-harness``."""
    configured = os.environ.get("HARNESS_DATA")
    if configured:
        return Path(configured).expanduser()
    import platformdirs

    return platformdirs.user_cache_path("svm-harness") / "raw"


def verified(name: str, *, wanted_by: str) -> Path:
    """Return the path of a raw file after comparing its SHA-256 with the table.

    Parameters
    ----------
    name : relative to :func:`raw_root`, e.g. ``adult/a9a.gz``
    wanted_by : the data set, for the message

    Raises
    ------
    DataError : the file is missing, cannot be read, or has another checksum.
    """
    from harness.datasets.cache import file_sha256

    path = raw_root() / name
    if not path.is_file():
        raise DataError(
            f"data set '{wanted_by}' needs the raw file '{name}', which is not under {raw_root()}. "
            f"Set HARNESS_DATA to the folder that holds it, or copy it to {path}."
        )
    found = file_sha256(path)
    if found != SHA256[name]:
        raise DataError(
            f"data set '{wanted_by}': the raw file {path} has SHA-256 {found}, expected {SHA256[name]}. "
            "It is damaged or another version; replace it by the original."
        )
    return path
