import { cueTime } from './cue-time.ts';
import { evenNear, type FrameSize } from './frame-size.ts';
import { framesSec, type Grid } from './grid.ts';
import { storyboardPaths } from './revision-layout.ts';

// A storyboard: small frames of a video at equal intervals (tiles), many on a sheet, for players to show while a viewer
// seeks.

/** The tiles of a video: one for each GOP, by rows from left to right, the sheets one after another. */
export interface Storyboard {
  /** The size of one tile, in pixels. */
  readonly tile: FrameSize;
  readonly tiles: number;
  readonly intervalSec: number;
  /** The length of the video; the last tile stands for what is left of it. */
  readonly durationSec: number;
}

/** Ten tiles by three: a minute of video at one tile every two seconds. */
export const sheetLayout = { columns: 10, rows: 3 } as const;
const tilesPerSheet = sheetLayout.columns * sheetLayout.rows;
const tileSideMax = 160;

/** The storyboard of a video of `frames` frames on `grid`. */
export function planStoryboard(video: FrameSize, { frames, grid }: { frames: number; grid: Grid }): Storyboard {
  const scale = tileSideMax / Math.max(video.width, video.height);
  const side = (pixels: number) => Math.max(2, evenNear(pixels * scale));
  return {
    tile: { width: side(video.width), height: side(video.height) },
    tiles: Math.ceil(frames / grid.gopFrames),
    intervalSec: framesSec(grid.gopFrames, grid.rate),
    durationSec: framesSec(frames, grid.rate),
  };
}

/** The sheets that the tiles fill, from 1; the last one need not be full. */
export function sheetNumbers({ tiles }: Pick<Storyboard, 'tiles'>): number[] {
  return Array.from({ length: Math.ceil(tiles / tilesPerSheet) }, (_, index) => index + 1);
}

/** How many sheets a run of frames fills; null where it does not end with a sheet, which the next run then shares. */
export function sheetsFilledBy(frames: number, { gopFrames }: Pick<Grid, 'gopFrames'>): number | null {
  const sheets = frames / (gopFrames * tilesPerSheet);
  return Number.isInteger(sheets) ? sheets : null;
}

/** The image playlist of a storyboard, beside its sheets (Roku's "HLS Trick Play using image media playlists"). */
export function storyboardPlaylist(storyboard: Storyboard): string {
  const { tile, intervalSec, durationSec } = storyboard;
  const sheetSec = intervalSec * tilesPerSheet;
  const layout = `${sheetLayout.columns}x${sheetLayout.rows}`;
  return [
    '#EXTM3U',
    '#EXT-X-VERSION:7',
    `#EXT-X-TARGETDURATION:${Math.ceil(Math.min(sheetSec, durationSec))}`,
    '#EXT-X-MEDIA-SEQUENCE:1',
    '#EXT-X-PLAYLIST-TYPE:VOD',
    '#EXT-X-IMAGES-ONLY',
    ...sheetNumbers(storyboard).flatMap((number) => [
      `#EXTINF:${Math.min(sheetSec, durationSec - (number - 1) * sheetSec).toFixed(5)},`,
      `#EXT-X-TILES:RESOLUTION=${tile.width}x${tile.height},LAYOUT=${layout},DURATION=${intervalSec.toFixed(5)}`,
      fileName(storyboardPaths.sheet(number)),
    ]),
    '#EXT-X-ENDLIST',
    '',
  ].join('\n');
}

/** The same as WebVTT cues, each with the place of its tile as a media fragment (`sheet_1.jpg#xywh=0,0,160,90`). */
export function storyboardCues({ tile, tiles, intervalSec, durationSec }: Storyboard): string {
  const cues = Array.from({ length: tiles }, (_, index) => {
    const onSheet = index % tilesPerSheet;
    const x = (onSheet % sheetLayout.columns) * tile.width;
    const y = Math.floor(onSheet / sheetLayout.columns) * tile.height;
    const sheet = fileName(storyboardPaths.sheet(Math.floor(index / tilesPerSheet) + 1));
    const [from, to] = [index * intervalSec, Math.min(durationSec, (index + 1) * intervalSec)];
    return `${cueTime(from)} --> ${cueTime(to)}\n${sheet}#xywh=${x},${y},${tile.width},${tile.height}\n`;
  });
  return ['WEBVTT\n', ...cues].join('\n');
}

/** As seen from the playlist and the cues, which are in the folder of the sheets. */
function fileName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The sheets by their numbers in DASH, and how long one lasts. */
export function sheetsTemplate({ intervalSec }: Storyboard): { readonly media: string; readonly durationMs: number } {
  return { media: storyboardPaths.sheet('$Number$'), durationMs: Math.round(intervalSec * tilesPerSheet * 1000) };
}

/** A storyboard as a master playlist or a manifest lists it; `bandwidth` in bits a second, on average. */
export interface StoryboardLine {
  readonly storyboard: Storyboard;
  readonly bandwidth: number;
}

/** The line of a storyboard in a master playlist. Players that do not know its tag pass over it. */
export function storyboardLine({ storyboard: { tile }, bandwidth }: StoryboardLine): string {
  const attributes = [
    `BANDWIDTH=${bandwidth}`,
    `RESOLUTION=${tile.width}x${tile.height}`,
    'CODECS="jpeg"',
    `URI="${storyboardPaths.playlist}"`,
  ];
  return `#EXT-X-IMAGE-STREAM-INF:${attributes.join(',')}`;
}
