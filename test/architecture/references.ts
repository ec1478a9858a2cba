import { dirname, extname, join, normalize } from 'node:path';
import type { TextFile } from './texts.ts';

// What a text refers to, and whether it is there: Markdown links with their anchors, pages, files and folders of the
// repository, decisions. A reference that cannot be followed is worse than none.

/** A reference that leads nowhere: the file that has it, and the reference as written. */
export type DeadReference = `${string}: ${string}`;

/** Standards whose sections a text may cite; the name stands before the section, in the same sentence. */
const citedStandard =
  /\b(?:RFC \d+|ISO \d+-\d+|XML 1\.0|HTML standard|Encrypted Media Extensions|reference\/contract\.md)[^.]{0,60}$/;
const sectionPattern = /\bsections? \d[\d.]*/gi;
/** Text that points out of the repository, or to a page that is not in it. */
const outsidePatterns = [
  /\bIssue \d+/g,
  /\.\.\/shared\b/g,
  /\bthe (?:interface )?specification\b(?! of)/gi,
  /\b(?:decisions|design|probes|specification)\.md\b/g,
];
/** The folder that may use a test cluster beside the checkout, and the files that say what this looks for. */
const mayPointOutside = (path: string) => path.startsWith('.ci/') || path.startsWith('test/architecture/references');

const pagePattern = /(?<![\w./-])(?:[\w.-]+\/|\.\.?\/)*[\w-]+\.md\b/g;
const decisionPattern = /\bdecisions?[ /](\d{4})\b/g;
/** Names of packages that look like files, files that are made or installed, and placeholders. */
const notFiles =
  /^(?:(?:video-dev\/)?(?:hls|[Vv]ideo|dash|ipaddr|index)\.js|x?\.test\.ts|package-lock\.json|test-results\/.*)$/;
const filePattern =
  /(?<![\w./#@$:-])(?:\.{1,2}\/)*(?:[\w.-]+\/)*[\w.-]+\.(?:ts|js|sql|ya?ml|json|css|html|tpl|txt|lua)\b(?![\w/-])/g;
/** A link whose text is the name of its page: the link is followed, the text is not. */
const namedLink = /\[([\w./-]+\.md)\]\((?:\.\.\/|[\w-]+\/)*\1(?:#[^)]*)?\)/g;
const linkPattern = /\]\(([^)\s]+)\)/g;

/** GitHub's anchor of a heading. */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}

/** The comments of a source file, or the whole of a page. */
export function proseOf({ path, text }: TextFile): string {
  if (path.endsWith('.md')) return withoutBlocks(text).replaceAll(namedLink, '');
  if (['.ts', '.js', '.css'].includes(extname(path))) {
    const blocks = text.match(/\/\*[\s\S]*?\*\//g) ?? [];
    const lines = text.match(/(?<=^|\s)\/\/ .*$/gm) ?? [];
    return [...blocks, ...lines].join('\n');
  }
  return (text.match(/(?<=^|\s)# .*$/gm) ?? []).join('\n');
}

/** A page without its code; a block that holds others has a longer fence. */
function withoutBlocks(page: string): string {
  return page.replaceAll(/^ *(`{3,})[^`\n]*\n[\s\S]*?^ *\1$/gm, '');
}

/** Prose with its line ends and comment marks made spaces, and without URLs, so that references stand in one line. */
function inOneLine(prose: string): string {
  return `\n${prose}`.replaceAll(/\n\s*(?:\/\/|\*|#)?\s*/g, ' ').replaceAll(/\b\w+:\/\/[^\s)'"`>]+/g, ' ');
}

export class References {
  readonly #paths: ReadonlySet<string>;
  readonly #anchors: ReadonlyMap<string, ReadonlySet<string>>;

  constructor(texts: readonly TextFile[], otherFiles: readonly string[] = []) {
    const files = [...texts.map(({ path }) => path), ...otherFiles];
    this.#paths = new Set(files.flatMap((path) => [path, ...foldersOf(path)]));
    this.#anchors = new Map(
      texts
        .filter(({ path }) => path.endsWith('.md'))
        .map(({ path, text }) => [
          path,
          new Set([...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))),
        ]),
    );
  }

  /** Every dead reference of a file. */
  deadIn(file: TextFile): DeadReference[] {
    const prose = proseOf(file);
    const line = inOneLine(prose);
    const dead = [
      ...(file.path.endsWith('.md') ? this.#deadLinks(file) : []),
      ...(line.match(pagePattern) ?? []).filter((page) => !this.#leads(file.path, page)),
      ...(line.match(filePattern) ?? []).filter((path) => !notFiles.test(path) && !this.#isFile(file.path, path)),
      ...[...line.matchAll(decisionPattern)]
        .filter(([, number = '']) => !this.#hasDecision(number))
        .map(([all]) => all),
      ...[...line.matchAll(sectionPattern)]
        .filter(({ index, 0: all }) => !isCited(line.slice(0, index), line.slice(index + all.length)))
        .map(({ index, 0: all }) => `${line.slice(Math.max(0, index - 30), index)}${all}`.trim()),
      ...(mayPointOutside(file.path)
        ? []
        : outsidePatterns.flatMap((pattern) => inOneLine(file.text).match(pattern) ?? [])),
    ];
    return [...new Set(dead)].map((reference): DeadReference => `${file.path}: ${reference}`);
  }

  #deadLinks({ path, text }: TextFile): string[] {
    const links = [...withoutBlocks(text).matchAll(linkPattern)].map(([, target = '']) => target);
    return links.filter((target) => {
      if (/^[a-z]+:/.test(target)) return false;
      const [page = '', anchor] = target.split('#', 2);
      const to = page === '' ? path : normalize(join(dirname(path), page)).replace(/\/$/, '');
      if (!this.#paths.has(to)) return true;
      return anchor !== undefined && this.#anchors.get(to)?.has(anchor) !== true;
    });
  }

  /** A page by its path from the root, or from the folder of the file that names it. */
  #leads(from: string, path: string): boolean {
    return this.#paths.has(normalize(path)) || this.#paths.has(normalize(join(dirname(from), path)));
  }

  /** A file by such a path, or by the end of its path where that is unmistakable. */
  #isFile(from: string, path: string): boolean {
    return this.#leads(from, path) || [...this.#paths].some((each) => each.endsWith(`/${path}`));
  }

  #hasDecision(number: string): boolean {
    return [...this.#paths].some((path) => path.startsWith(`docs/decisions/${number}-`));
  }
}

function foldersOf(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

function isCited(before: string, after: string): boolean {
  return citedStandard.test(before) || after.startsWith(' of docs/reference/contract.md');
}
