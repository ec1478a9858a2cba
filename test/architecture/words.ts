import type { TextFile } from './texts.ts';

// Words that this project once used in a way of its own, or that make a sentence a riddle. One reading is enough for
// plain ones: the standard word stands beside each.

/** What not to write, and what to write instead. Matched as whole words, and as words within camelCase names. */
export const bannedWords: Readonly<Record<string, string>> = {
  trouble: 'problem',
  troubles: 'problems',
  told: 'reported, said, configured',
  tell: 'report, say, show',
  tells: 'reports, says, shows',
  gone: 'deleted, closed, ended',
  nobody: 'no one, or name the subject',
  somebody: 'someone, or name the subject',
  leftover: 'object to clean up',
  leftovers: 'cleanup',
  'waiting room': 'pool waiters',
  rooms: 'modules',
  arrows: 'dependencies',
  houses: 'layouts',
  'is none': 'is not one, or say what it is',
  'are none': 'are not, or say what they are',
  'to be had': 'available',
  'whoever leads': 'the leader',
  'goes round': 'repeats',
  happening: 'event',
  sight: 'observation',
  anew: 'again',
  'what it is at': 'its current task',
  'is over': 'has ended',
  'are over': 'have ended',
  'that of': 'name the noun',
  'those of': 'name the noun',
  film: 'long video, chunked encode',
  films: 'long videos',
  sound: 'audio',
  picture: 'frame, image, video',
  pictures: 'frames, images',
};

/** Files whose text is not ours to change: licences, applied migrations, and the list itself. */
const exempt = [/^LICENSE$/, /^platform\/postgres\/migrations\//, /^test\/architecture\/words\.(?:test\.)?ts$/];
/** Uses in which a word has its ordinary meaning. */
const ordinaryUses = [
  /\bthere (?:is|are) none\b/gi,
  // A reason of Kubernetes, and a user of Unix.
  /'Gone'/g,
  /(?<=["'`])nobody(?=["'`])/g,
  /\b410 Gone\b/g,
  /\bGone\b(?= of RFC)/g,
  /\btell (?:\w+ ){0,4}apart\b/g,
  /\btold (?:\w+ ){0,3}apart\b/g,
  /\barrow keys?\b/gi,
  /\bis over (?=\d|a limit|twice)/g,
  // Python's test for its null, in its spelling, and its position in a file.
  /\bis None\b/g,
  /\.tell\(\)/g,
  /first bytes are those of/g,
  // Terms of audio formats and of hearing; of containers, of HEVC, of libaom, and of browsers.
  /\b(?:surround|spatial) sound\b/gi,
  /-and-sound\b|'SoundHandler'/g,
  /\battached_?\s?pictures?\b|isAttachedPicture/gi,
  /\bleading pictures\b|-still-picture\b/g,
  /picture[- ]?in[- ]?picture/gi,
];

const patternOf = (words: readonly string[]) =>
  new RegExp(String.raw`(?<![\p{L}])(?:${words.join('|')})(?![\p{L}])`, 'giu');
const pattern = patternOf(Object.keys(bannedWords));

/** The banned words of a file, each with its line: `path:line: word (instead: …)`. */
export function bannedIn({ path, text }: TextFile): string[] {
  if (exempt.some((each) => each.test(path))) return [];
  return text.split('\n').flatMap((line, index) => {
    const ordinary = ordinaryUses.reduce((rest, use) => rest.replaceAll(use, ''), line);
    // Names are split into their words: `poolTroubles` is `pool Troubles`.
    const words = ordinary.replaceAll(/(?<=[a-z])(?=[A-Z])|_/g, ' ');
    return [...words.matchAll(pattern)].map(
      ([word]) => `${path}:${index + 1}: ${word} (instead: ${bannedWords[word.toLowerCase()]})`,
    );
  });
}
