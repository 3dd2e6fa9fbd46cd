/* Korean for the search of the site, in place of lunr-languages' file of that name. A Korean word is found by any part
 * of it of two letters or more: 청킹 in 문장청킹을. (The search asks for what begins with the words typed.) */
lunr.ko = function () {
  this.pipeline.reset()
  this.pipeline.add(lunr.ko.parts)
  this.searchPipeline.reset()
}

/* The word, and the rests of it that begin with a Hangul syllable and have two letters or more. */
lunr.ko.parts = function (token) {
  const word = token.toString().toLowerCase()
  const parts = [token.update(() => word)]
  for (let start = 1; start < word.length - 1; start++)
    if (/[가-힣]/.test(word[start])) parts.push(token.clone(() => word.slice(start)))
  return parts
}

lunr.Pipeline.registerFunction(lunr.ko.parts, "parts-ko")
