// The storyboard of a stream for players that do not read it: its cues name the place of each picture on a sheet.

const cuePattern = /([\d:.]+) --> ([\d:.]+)\n(\S+)#xywh=(\d+),(\d+),(\d+),(\d+)/g;

/** `hh:mm:ss.mmm` in seconds. */
const secondsOf = (time) => time.split(':').reduce((sum, part) => 60 * sum + Number(part), 0);

async function readText(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address} answered ${response.status}`);
  return await response.text();
}

/** Loads a sheet: its size scales the picture that is cut out of it. */
async function sizeOf(address) {
  const image = new Image();
  image.src = address;
  await image.decode();
  return { imageWidth: image.naturalWidth, imageHeight: image.naturalHeight };
}

/**
 * Reads the storyboard that a master playlist names.
 *
 * @returns a function from a time in seconds to the tile, as `pictureAt` of the players, or null without a storyboard
 */
export async function openStoryboard(masterUrl) {
  const named = /^#EXT-X-IMAGE-STREAM-INF:.*URI="([^"]+)"/m.exec(await readText(masterUrl))?.[1];
  if (named === undefined) return async () => null;
  const cuesUrl = new URL('cues.vtt', new URL(named, masterUrl)).href;
  const cues = [...(await readText(cuesUrl)).matchAll(cuePattern)].map(([, from, to, sheet, ...place]) => {
    const [positionX, positionY, width, height] = place.map(Number);
    const uri = new URL(sheet, cuesUrl).href;
    return { from: secondsOf(from), to: secondsOf(to), uri, positionX, positionY, width, height };
  });
  return async (time) => {
    const cue = cues.find(({ from, to }) => time >= from && time < to) ?? cues.at(-1);
    return cue === undefined ? null : { ...cue, ...(await sizeOf(cue.uri)) };
  };
}
