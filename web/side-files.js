// The cues of a stream's storyboard and chapters, which players do not read. The master playlist names both, so that no
// address is requested in vain.

import { streamAddress, withTicket } from './addresses.js';

const cuePattern = /([\d:.]+) --> ([\d:.]+)[^\n]*\n([^\n]+)/g;
/** After so long what failed is read again; a pointer that moves asks many times a second. */
const retryMs = 10_000;
const tilePattern = /^(\S+)#xywh=(\d+),(\d+),(\d+),(\d+)$/;
/** @type {Record<string, string>} */
const escapes = { '&lt;': '<', '&gt;': '>', '&amp;': '&' };

/**
 * A part of the storyboard's sheet: where it is, and the size of the whole. Times in seconds, sizes in pixels.
 *
 * @typedef {object} Tile
 * @property {number} from
 * @property {number} to
 * @property {string} uri
 * @property {number} positionX
 * @property {number} positionY
 * @property {number} width
 * @property {number} height
 * @property {number} imageWidth
 * @property {number} imageHeight
 *
 * @typedef {{from: number, to: number, title: string}} Chapter times in seconds
 */

/**
 * `hh:mm:ss.mmm` in seconds.
 *
 * @param {string} time
 */
const secondsOf = (time) => time.split(':').reduce((sum, part) => 60 * sum + Number(part), 0);

/**
 * @param {string} address
 * @param {RequestCache} [cache]
 */
async function readText(address, cache = 'default') {
  const response = await fetch(address, { cache });
  if (!response.ok) throw new Error(`${address} answered ${response.status}`);
  return await response.text();
}

/** @param {string} address */
async function readCues(address) {
  const found = (await readText(address)).matchAll(cuePattern);
  return Array.from(found, ([, from = '', to = '', text = '']) => ({ from: secondsOf(from), to: secondsOf(to), text }));
}

/** @param {string} address */
export async function loadImage(address) {
  const image = new Image();
  image.src = address;
  await image.decode();
  return image;
}

/**
 * A function that gives what `read` gave at its first call, for a while also where it failed.
 *
 * @template Result
 * @param {() => Promise<Result>} read
 */
function remembered(read) {
  /** @type {Promise<Result> | undefined} */
  let result;
  return () => {
    result ??= read().catch((error) => {
      setTimeout(() => (result = undefined), retryMs);
      throw error;
    });
    return result;
  };
}

/** @typedef {ReturnType<typeof openSideFiles>} SideFiles */

/**
 * The storyboard and the chapters of a stream. What is needed of them is read at the first call.
 *
 * @param {() => {hash: string, ticket: string}} choice the stream, with the newest ticket
 */
export function openSideFiles(choice) {
  const masterUrl = streamAddress(choice(), 'master.m3u8');
  // The browser may keep the master playlist for a year, and it changes when the stream is replaced: this asks whether
  // its copy still holds, and gives players that load it later the new one.
  const readMaster = remembered(() => readText(masterUrl, 'no-cache'));

  /**
   * The address behind `pattern` in the master playlist; null where it names none.
   *
   * @param {RegExp} pattern
   */
  const addressOf = async (pattern) => {
    const named = pattern.exec(await readMaster())?.[1];
    return named === undefined ? null : withTicket(new URL(named, masterUrl).href, choice());
  };
  const readTiles = remembered(async () => {
    const playlistUrl = await addressOf(/^#EXT-X-IMAGE-STREAM-INF:.*URI="([^"]+)"/m);
    if (playlistUrl === null) return [];
    const cuesUrl = new URL('cues.vtt', playlistUrl).href;
    return (await readCues(cuesUrl)).flatMap(({ from, to, text }) => {
      const [, sheet, ...place] = tilePattern.exec(text) ?? [];
      if (sheet === undefined) return [];
      const [positionX = 0, positionY = 0, width = 0, height = 0] = place.map(Number);
      return [{ from, to, uri: new URL(sheet, cuesUrl).href, positionX, positionY, width, height }];
    });
  });
  return {
    /** Ends when the master playlist is the current one; its absence is the player's to report. */
    refresh: () => readMaster().catch(() => undefined),
    /** @returns {Promise<Chapter[]>} empty without any */
    async chapters() {
      const cuesUrl = await addressOf(/^#EXT-X-SESSION-DATA:DATA-ID="io\.reelwright\.chapters",URI="([^"]+)"/m);
      if (cuesUrl === null) return [];
      const cues = await readCues(cuesUrl);
      return cues.map(({ from, to, text }) => ({
        from,
        to,
        title: text.replaceAll(/&(?:lt|gt|amp);/g, (escape) => escapes[escape] ?? escape),
      }));
    },
    /**
     * The storyboard tile at a time in seconds.
     *
     * @param {number} time
     * @returns {Promise<Tile | null>}
     */
    async tileAt(time) {
      const found = await readTiles();
      const tile = found.find(({ from, to }) => time >= from && time < to) ?? found.at(-1);
      if (tile === undefined) return null;
      const uri = withTicket(tile.uri, choice());
      // The size of the sheet scales the tile that is cut out of it.
      const { naturalWidth: imageWidth, naturalHeight: imageHeight } = await loadImage(uri);
      return { ...tile, uri, imageWidth, imageHeight };
    },
  };
}
