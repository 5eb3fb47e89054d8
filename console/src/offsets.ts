// The engine counts characters (code points), the editor counts UTF-16 units.
export function toPoints(text: string, units: number): number {
  let points = 0;
  for (let at = 0; at < units; at += text.codePointAt(at)! > 0xffff ? 2 : 1) points += 1;
  return points;
}

export function toUnits(text: string, points: number): number {
  let units = 0;
  for (let at = 0; at < points && units < text.length; at += 1) units += text.codePointAt(units)! > 0xffff ? 2 : 1;
  return units;
}
