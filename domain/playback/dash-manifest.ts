import { folderOf, renumbered } from '../media/dash-manifest.ts';
import { trackPaths } from '../media/revision-layout.ts';
import { sheetLayout, sheetsTemplate, type StoryboardLine } from '../media/storyboard.ts';
import { parseXml, replaceElements, writeXml, xmlElement, type XmlElement } from '../media/xml.ts';
import { clearKeyAddress } from './endpoints.ts';

// What Shaka Packager's DASH manifest (ISO/IEC 23009-1) lacks, by the guidelines of DASH-IF.

/** Schemes of `ContentProtection`. */
const commonScheme = 'urn:mpeg:dash:mp4protection:2011';
const clearKeyScheme = 'urn:uuid:e2719d58-a985-b3c9-781a-b030af78d30e';
/**
 * W3C's common `pssh`, which names the key id once more. dash.js takes it for the key system and then finds no licence.
 */
const commonPsshScheme = 'urn:uuid:1077efec-c0b2-4d02-ace3-3c1e52e2fb4b';
const tilesScheme = 'http://dashif.org/guidelines/thumbnail_tile';

interface ManifestParts {
  /** `{BASE_URL}/api/key/{hash}`; null for a clear stream. */
  readonly keyEndpoint: string | null;
  /** The names of audio and text tracks, by the folders of their segments (`audio/audio_en_aac_2ch`). */
  readonly names: ReadonlyMap<string, string>;
  /** Ids of the text tracks that are there as one file. */
  readonly wholeTexts: ReadonlySet<string>;
  readonly storyboard: StoryboardLine | null;
}

/**
 * The packager's manifest with the address of the ClearKey licence, names, captions as whole files, and the storyboard.
 */
export function completeManifest(manifest: string, parts: ManifestParts): string {
  const { keyEndpoint, storyboard } = parts;
  const tracks = replaceElements(parseXml(manifest), 'AdaptationSet', (set) =>
    oneTrackEach(set).map((each) =>
      withClearKey(withWholeText(withName(each, parts.names), parts.wholeTexts), keyEndpoint),
    ),
  );
  const numbered = renumbered(tracks);
  const whole = storyboard === null ? numbered : withStoryboard(numbered, storyboard);
  if (keyEndpoint === null) return writeXml(whole);
  return writeXml({ ...whole, attributes: { ...whole.attributes, 'xmlns:dashif': 'https://dashif.org/CPS' } });
}

/** The packager puts tracks of one language and role together, as if a player might change between them at will. */
function oneTrackEach(set: XmlElement): XmlElement[] {
  if (set.attributes['contentType'] === 'video') return [set];
  const shared = set.children.filter(({ name }) => name !== 'Representation');
  const tracks = set.children.filter(({ name }) => name === 'Representation');
  return tracks.map((track) => ({ ...set, children: [...shared, track] }));
}

/** Adds W3C Clear Key, by which players find the licence, to an adaptation set that is protected. */
function withClearKey(set: XmlElement, keyEndpoint: string | null): XmlElement {
  if (keyEndpoint === null) return set;
  const licence = xmlElement('dashif:Laurl', {}, clearKeyAddress(keyEndpoint));
  const clearKey = xmlElement('ContentProtection', { value: 'ClearKey1.0', schemeIdUri: clearKeyScheme }, [licence]);
  return replaceElements(set, 'ContentProtection', (protection) => {
    const { schemeIdUri } = protection.attributes;
    if (schemeIdUri === commonPsshScheme) return [];
    return schemeIdUri === commonScheme ? [protection, clearKey] : [protection];
  });
}

/** Gives an adaptation set of one track its name, in the place that the schema has for it. */
function withName(set: XmlElement, names: ReadonlyMap<string, string>): XmlElement {
  const track = set.children.find(({ name }) => name === 'Representation');
  const name = track === undefined ? undefined : names.get(folderOf(track) ?? '');
  if (name === undefined) return set;
  const at = set.children.findIndex((child) => ['Role', 'Representation'].includes(child.name));
  return { ...set, children: set.children.toSpliced(at, 0, xmlElement('Label', {}, name)) };
}

/** Captions are one file: dash.js reads no WebVTT in segments. */
function withWholeText(set: XmlElement, wholeTexts: ReadonlySet<string>): XmlElement {
  if (set.attributes['contentType'] !== 'text') return set;
  return replaceElements(set, 'Representation', (track) => {
    const [kind, id = ''] = (folderOf(track) ?? '').split('/');
    const path = trackPaths('text', id).whole;
    if (kind !== 'text' || path === null || !wholeTexts.has(id)) return [track];
    return [xmlElement('Representation', track.attributes, [xmlElement('BaseURL', {}, path)])];
  });
}

/** Adds a storyboard as tiles of thumbnails (DASH-IF guidelines, "Tiles of thumbnail images"). */
function withStoryboard(root: XmlElement, { storyboard, bandwidth }: StoryboardLine): XmlElement {
  const { columns, rows } = sheetLayout;
  const { media, durationMs } = sheetsTemplate(storyboard);
  const width = String(storyboard.tile.width * columns);
  const height = String(storyboard.tile.height * rows);
  const template = { media, duration: String(durationMs), timescale: '1000', startNumber: '1' };
  const tiles = xmlElement('EssentialProperty', { schemeIdUri: tilesScheme, value: `${columns}x${rows}` });
  const set = xmlElement('AdaptationSet', { contentType: 'image', mimeType: 'image/jpeg' }, [
    xmlElement('SegmentTemplate', template),
    xmlElement('Representation', { id: 'storyboard', bandwidth: String(bandwidth), width, height }, [tiles]),
  ]);
  return replaceElements(root, 'Period', (period) => [{ ...period, children: [...period.children, set] }]);
}
