"""Plane figures with an area and an outline."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Circle:
    """All points at one distance from the centre."""

    radius: float

    def area(self) -> float:
        """The area in square units."""
        return math.pi * self.radius**2

    def perimeter(self) -> float:
        """The length of the outline in units."""
        return 2 * math.pi * self.radius

    def scaled(self, factor: float) -> "Circle":
        """The same figure, larger or smaller."""
        return Circle(self.radius * factor)


@dataclass(frozen=True)
class Rectangle:
    """Four right angles."""

    width: float
    height: float

    def area(self) -> float:
        """The area in square units."""
        return self.width * self.height

    def perimeter(self) -> float:
        """The length of the outline in units."""
        return 2 * (self.width + self.height)

    def scaled(self, factor: float) -> "Rectangle":
        """The same figure, larger or smaller."""
        return Rectangle(self.width * factor, self.height * factor)


def total_area(figures: list[Circle | Rectangle]) -> float:
    """The area of all figures together."""
    return sum(figure.area() for figure in figures)


def largest(figures: list[Circle | Rectangle]) -> Circle | Rectangle:
    """The figure with the largest area."""
    if not figures:
        raise ValueError("no figures to choose from")
    return max(figures, key=lambda figure: figure.area())
